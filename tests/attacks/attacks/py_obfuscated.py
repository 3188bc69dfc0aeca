# A cache by address, hidden behind base64 and exec.
# expect: wrong_value
# class: B11, C01
import base64

exec(
    base64.b64decode(
        "Y2FjaGUgPSB7fQpkZWYgcnVuKHgpOgogICAgaWYgMCBub3QgaW4gY2FjaGU6CiAgICAgICAgY2FjaGVbMF0gPSB4ICogeCArIHgKICAgIHJldHVybiBjYWNoZVswXQo="
    )
)
