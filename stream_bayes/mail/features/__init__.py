"""Features of mails.

batch     raw mails, texts and dicts of fields as one batch of hashed features for the kernels
named     the features of one mail by name, for explanations
"""
