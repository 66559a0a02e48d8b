from __future__ import annotations

_WORDS = {
    "tiktok": "TikTok",
    "linkedin": "LinkedIn",
    "youtube": "YouTube",
    "duckduckgo": "DuckDuckGo",
    "bing": "Microsoft Bing",
    "sms": "SMS",
    "ai": "AI",
    "g2": "G2",
    "openai": "OpenAI",
    "tv": "TV",
    "whatsapp": "WhatsApp",
    "line": "LINE",
    "web": "The web",
}
_TITLES = {
    "ai_chat_gpt": "ChatGPT",
    "ai_perplexity": "Perplexity",
    "ai_copilot": "Copilot",
    "ai_claude": "Claude",
    "ai_grok": "Grok",
    "ai_gemini": "Gemini",
    "ai_deepseek": "DeepSeek",
    "chatgpt_ads": "ChatGPT ads",
    "paid_other": "Paid, other",
    "paid": "Paid ads",
    "ai": "AI answers",
    "organic": "Organic search and social",
    "email": "E-mail",
    "shop_app": "Shop app",
}


def format_title(key: str) -> str:
    if key in _TITLES:
        return _TITLES[key]
    first, *words = key.split("_")
    return " ".join([_WORDS.get(first, first.capitalize()), *words])
