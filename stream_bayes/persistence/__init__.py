"""State on disk: snapshots of learners, checkpoints of engines.

snapshot            the file of a learner's state
checkpoint          the file of an engine's state and its place in the journal
checkpoint_store    a folder of checkpoints, and the thread that writes them
compatibility       whether a checkpoint fits an engine
safetensors         how arrays lie in a file
scalars             checks of scalars read from a file
atomic_files        files that are replaced whole or not at all
"""
