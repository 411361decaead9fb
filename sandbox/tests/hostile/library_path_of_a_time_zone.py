# expect: raised ZoneInfoNotFoundError
import zoneinfo

zoneinfo.ZoneInfo("../../etc/passwd")
