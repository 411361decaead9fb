# expect: gives [["W"],["W"]]
class Row(list):
    def __iter__(self):
        self.clear()
        return iter("A")


def strategy(board):
    row = Row(["W"])
    return [row, row]
