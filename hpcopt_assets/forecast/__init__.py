"""Forecasts: quantiles of runtimes, fitted, calibrated and scored on times that follow one another.

In:  job_features, trace_jobs (for the labels), configs/forecast.yaml.
Out: feature_splits, runtime_model, runtime_importance, runtime_estimates, forecast_scores, figures.
Not here: what a scheduler makes of an estimate (simulate/), nor any feature (features/).
"""
