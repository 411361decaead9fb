# expect: raised ValueError
import zoneinfo

zoneinfo.ZoneInfo("../../etc/passwd")
