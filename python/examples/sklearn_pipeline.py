"""The estimator in a grid search by log-likelihood, and in a pipeline before a classifier.

    python python/examples/sklearn_pipeline.py [--quick]
"""

import sys

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

import ztrack

QUICK = "--quick" in sys.argv
digits, labels = load_digits(return_X_y=True)
digits = (digits > 7).astype(float)
train, test, train_labels, test_labels = train_test_split(digits, labels, test_size=0.3, random_state=1)
if QUICK:
    train, train_labels = train[:300], train_labels[:300]

search = GridSearchCV(
    ztrack.RBM(n_iter=3 if QUICK else 30, random_state=1),
    {"n_hidden": [4, 16] if QUICK else [4, 16, 64]},
    cv=2 if QUICK else 3,
)
search.fit(train)
for hidden, score in zip(search.cv_results_["param_n_hidden"], search.cv_results_["mean_test_score"]):
    print(f"{hidden:3} hidden units: {score:.2f} nats per row")
best = search.best_estimator_
print(f"log Z {best.log_z_:.2f} +- {best.log_z_error_:.2f}; test {best.score(test):.2f} nats per row")

pipeline = make_pipeline(
    ztrack.RBM(n_hidden=64, n_iter=20 if QUICK else 30, random_state=1), LogisticRegression(max_iter=1000)
)
pipeline.fit(train, train_labels)
print(f"logistic regression on hidden units: {pipeline.score(test, test_labels):.3f} right")
assert pipeline.score(test, test_labels) > (0.3 if QUICK else 0.85)
