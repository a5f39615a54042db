"""Functions that several kernels share.

jit                  the decorator that compiles a kernel
jit_cache            compiled kernels on disk
jit_stats            the notice that kernels are being compiled
csr                  rows of a sparse batch
class_scores         joint log-likelihoods to probabilities
label_variance       variance of labels, split into noise and ignorance
label_information    information of a label about its log-odds
sigmoid              logistic function and its moments
special              special functions
cholesky             factors of correlation matrices
hash_index           hash tables of columns
words                words of texts, hashed
"""
