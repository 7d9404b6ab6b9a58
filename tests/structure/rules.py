"""The names by which things are written, replaced and deleted, and what makes each conditional."""

from collections.abc import Mapping

ADAPTERS = ("scenemosaic.stores.", "scenemosaic.manifests.")

# The request's own condition, by verb.
S3_CONDITIONS = frozenset({"IfNoneMatch", "IfMatch"})
CONDITIONAL: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("put_object", "complete_multipart_upload"), S3_CONDITIONS),
    **dict.fromkeys(("put_item", "update_item", "delete_item"), frozenset({"ConditionExpression"})),
    **dict.fromkeys(("insert_object", "start_upload"), frozenset({"ifGenerationMatch"})),
    **dict.fromkeys(("upload_blob", "commit_block_list"), frozenset({"match_condition"})),
}
# No condition of ours reaches the object through these, whatever is passed.
NEVER = {
    # S3
    "copy_object", "delete_object", "delete_objects", "upload_file", "upload_fileobj",
    "delete_bucket", "put_bucket_lifecycle_configuration",
    # DynamoDB and SQL
    "batch_write_item", "transact_write_items", "execute_statement", "batch_execute_statement",
    "execute_transaction", "delete_table", "on_conflict_do_update", "drop_all",
    # Cloud Storage
    "rewrite_object", "compose_object", "patch_object", "update_object", "upload_from_string",
    "upload_from_file", "upload_from_filename", "copy_blob", "delete_blob", "delete_blobs",
    # Azure
    "upload_blob_from_url", "start_copy_from_url", "set_blob_metadata", "append_block",
    "append_block_from_url", "create_append_blob", "create_page_blob", "upload_page",
}  # fmt: skip
# Make nothing visible under a key; still nobody's business but an adapter's.
PREPARING = {
    "create_multipart_upload", "upload_part", "upload_part_copy", "abort_multipart_upload",
    "create_table", "stage_block", "stage_block_from_url", "upload_chunk",
}  # fmt: skip
OS_CALLS = {
    "remove", "unlink", "rename", "renames", "replace", "link", "symlink", "rmdir", "removedirs",
    "truncate", "mkfifo", "mknod",
}  # fmt: skip
SHUTIL_CALLS = {"copy", "copy2", "copyfile", "copytree", "move", "rmtree", "copyfiles", "delete"}
PATH_CALLS = {
    "write_text", "write_bytes", "touch", "unlink", "rename", "symlink_to", "hardlink_to", "rmdir",
    "rmtree", "tofile", "copy_into", "move_into",
}  # fmt: skip
# Linking and exclusive creation fail where the name is taken: the file system's own condition.
EXCLUSIVE = {"link", "hardlink_to"}
OPEN_FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}
# Modules whose `open` takes the path first and the mode second, as the built-in does.
OPENERS = {"io", "rasterio", "gzip", "bz2", "lzma", "codecs", "tarfile", "zipfile", "fileio"}
SQL_RUNNERS = {"execute", "executemany", "executescript", "exec_driver_sql", "text"}
SQL_WRITES = ("UPDATE", "DELETE", "REPLACE", "TRUNCATE", "DROP", "INSERT", "VACUUM", "ATTACH")
