"""Telegram in and out."""
