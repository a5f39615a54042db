"""What `stream-bayes demo` shows: three learners that meet their data one event at a time.

`coin`, `weather` and `line` yield frames, numbers only; `screens` and `lines` draw them; `show` sets the pace;
`findings` says at the end what was learned.
"""
