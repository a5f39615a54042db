"""Features of mails.

batch     raw messages, texts and dicts of fields as one batch for the kernels
fields    a mail as a dict of features, for classifiers from elsewhere
named     the features of one mail by name, for explanations
"""
