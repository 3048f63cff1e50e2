# MLflow's server and web pages, with what PostgreSQL and S3 need.
FROM python:3.11-slim
COPY requirements/constraints.txt /constraints.txt
RUN pip install --no-cache-dir --constraint /constraints.txt mlflow "psycopg[binary]" boto3 \
    && useradd --system --create-home --home-dir /var/lib/mlflow mlflow
USER mlflow
WORKDIR /var/lib/mlflow
