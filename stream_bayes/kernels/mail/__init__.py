"""Kernels of the mail filter: from raw bytes to scores.

decode      light MIME decoding
header      header fields
tokens      hashed words, pairs and n-grams
sources     addresses, hosts and senders
features    all features of many mails in one pass
evidence    what is stored for each bucket of features
margin      a linear support vector machine over a memory of mails
novelty     how new a mail is, and the variance of its log-odds for that
fold        score each mail by every member and their fusion, then learn it
"""
