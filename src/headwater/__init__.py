"""Headwater: conversion tracking and attribution on PostgreSQL."""

__version__ = "0.1.0"
