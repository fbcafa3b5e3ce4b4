"""What may be relied on: none of it runs users' code, but ending.py, in a forked child.

look.py        looks at users' objects
originals.py   whether a library's code is its own; calls.py, all that it calls, kept on disk by kept_calls.py
harmless.py    what code may use that is called at another time than torch would call it
ending.py      whether code comes to an end
watch.py       what was found, for as long as all stands that it went by
"""
