# expect: hang
import decimal


def strategy(board):
    decimal.getcontext().prec = 10**6
    return str(decimal.Decimal(2).sqrt() ** decimal.Decimal("0.3"))[:1]
