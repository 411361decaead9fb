# expect: raised SystemExit
exit("done")
