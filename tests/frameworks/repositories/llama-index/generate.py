"""Makes the index anew of what is in data/: python generate.py."""

from llama_index.core import SimpleDirectoryReader, VectorStoreIndex


def generate_index() -> None:
    documents = SimpleDirectoryReader("data").load_data()
    VectorStoreIndex.from_documents(documents).storage_context.persist("storage")


if __name__ == "__main__":
    generate_index()
