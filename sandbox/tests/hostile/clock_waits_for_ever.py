# expect: raised OverflowError
import select

select.select([], [], [], float("inf"))
