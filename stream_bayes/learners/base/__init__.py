"""Base of the learners: the contract, and the conversion of events to arrays of the kernels.

learner               the contract of every learner: `Learner`, `Additive`
classifier            what every classifier offers, and its checks
regressor             what every regressor offers, and its checks
column_classifier     classifiers over columns of features
column_regressor      regressors over columns of features
additive_classifier   classifiers whose evidence is a sum
columns               from dicts and batches to a learner's columns
labels                codes of class labels, and their keys in JSON
explanation           a prediction as a sum of feature contributions
weight_prior          a normal prior of weights by name
named_posterior       the posterior of one parameter, with a description
label_predictions     predictions of a classifier for a batch
number_predictions    predictions of a regressor for a batch
uncertainties         the uncertainty of a batch of predictions, for selection strategies
input_checks          checks of events before they are learned
numeric_features      numbers that Gaussian learners take, and moments that add up
arrays                arrays that grow
"""
