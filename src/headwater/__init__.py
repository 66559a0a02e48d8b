"""Headwater: conversion tracking and attribution on PostgreSQL."""

__version__ = "1.0.0"
