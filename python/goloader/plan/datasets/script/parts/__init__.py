"""Arrays in a script that are not images.

wholes.py  arrays of which each sample has one
crops.py   frames of sounds, and other parts of these
"""
