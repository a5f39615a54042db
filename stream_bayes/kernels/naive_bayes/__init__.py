"""Kernels of naive Bayes and of Beta-Bernoulli: score each row, then learn it.

bernoulli         presence of words, absent words counted exactly
categorical       values of categorical features
gaussian          numbers, normal given the class
word_counts       multinomial and Poisson counts
count_levels      sums over distinct counts of a class
count_powers      the same where counts are not whole
beta_bernoulli    one Beta posterior per key
"""
