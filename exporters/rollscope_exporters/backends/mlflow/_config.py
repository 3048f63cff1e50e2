"""The section `backends.mlflow` of `rollscope.yaml`."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_serializer, field_validator, model_validator

from ._uri import check_file_store, check_uri, hide_password, is_server, with_credentials


class MlflowConfig(BaseModel):
    """Where MLflow is and how much it gets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tracking_uri: str = Field("", repr=False)
    """A server (`http://…`) or a database (`sqlite:///…`, `postgresql+psycopg2://…`). Empty: `MLFLOW_TRACKING_URI`, else
    `mlflow.db` in the storage folder."""
    username: str = ""
    """Of a server with basic authentication (else `MLFLOW_TRACKING_USERNAME`), or of a database whose address names nobody."""
    password: SecretStr = SecretStr("")
    """Of the same."""
    token: SecretStr = SecretStr("")
    """Bearer token."""
    ca_file: Path | None = None
    """Certificates that a server's TLS certificate is checked against, PEM."""
    insecure_tls: bool = False
    """Do not check the server's certificate."""
    timeout: float = Field(20.0, gt=0)
    """Of one request, seconds."""
    artifact_root: str = ""
    """Where new experiments of a database keep artifacts: a folder, `s3://…`, `hdfs://…`; empty: `mlartifacts` in the storage folder.
    A server decides itself."""
    trajectories_per_step: int | None = Field(256, ge=1)
    """Trajectories of one step and split that become traces, whole groups; failed ones and extreme rewards come on top. None: all."""
    spans_per_request: int = Field(500, ge=1)
    history_bytes: int = Field(256 * 1024, ge=1024)
    """Of the history shown at one generation; beyond it the middle is folded. The root of a trace has it all."""
    image_bytes: int = Field(1024 * 1024, ge=0)
    """Of the images shown in the history of one generation, as base64; beyond it they stay references. The root of a trace shows as
    many as `attribute_bytes` allows, and every one is an artifact under `message_images`."""
    attribute_bytes: int = Field(8 * 1024 * 1024, ge=4096)
    """Of one span attribute, the conversation at the root among them; beyond it text is cut and says so."""

    register_models: bool = False
    """Make a version of `registered_model` of each checkpoint that is uploaded (`artifacts.models: upload`)."""
    registered_model: str = ""
    """Name of that model."""

    @property
    def store_uri(self) -> str:
        """`tracking_uri`, that of a database with the credentials it has not got itself."""
        return with_credentials(self.tracking_uri, self.username, self.password.get_secret_value())

    @model_validator(mode="after")
    def _model_has_a_name(self) -> MlflowConfig:
        if self.register_models and not self.registered_model:
            raise ValueError("register_models needs the model's name: set registered_model")
        return self

    @model_validator(mode="after")
    def _files_can_be_written(self) -> MlflowConfig:
        if not is_server(self.tracking_uri):
            check_file_store(self.artifact_root)
        return self

    @field_validator("tracking_uri")
    @classmethod
    def _is_supported(cls, uri: str) -> str:
        check_uri(uri)
        return uri

    @field_serializer("tracking_uri")
    def _without_password(self, uri: str) -> str:
        return hide_password(uri)
