n = int(input())
numbers = [int(word) for word in input().split()]
print(sum(number % 2 == 0 for number in numbers))
