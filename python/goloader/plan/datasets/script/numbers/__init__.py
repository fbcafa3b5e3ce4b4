"""Numbers in a script.

drawing.py    random draws
reckoning.py  numbers that code makes of draws, sizes and lists; by
arithmetic.py  the core's arithmetic
rows.py       the user's data, by the row; of which
tables.py     has numbers that differ from row to row
series.py     small arrays of numbers
"""
