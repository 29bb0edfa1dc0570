"""Deploys the agent: python deployment/deploy.py --create."""

import argparse
import os

import vertexai
from order_desk.agent import root_agent
from vertexai import agent_engines
from vertexai.preview.reasoning_engines import AdkApp


def create() -> None:
    vertexai.init(project=os.environ["GOOGLE_CLOUD_PROJECT"])
    print(agent_engines.create(AdkApp(agent=root_agent)).resource_name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--create", action="store_true")
    if parser.parse_args().create:
        create()
