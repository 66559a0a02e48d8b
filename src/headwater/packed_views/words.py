"""Words that page views often have, which the compressor of packed ones knows beforehand: a row has
only a few hundred octets to learn them from. Rows can be read only with the words they were written
with, so these never change: others would be those of another form.
"""

from __future__ import annotations

# What is written last is referred to most cheaply, so the words of nearly every view come last.
WORDS = (
    b'["wearable","console","other","tv","tablet","Opera","Samsung Internet","Firefox","Edge"'
    b',"Mac OS X","Linux","Android","nl-NL","it-IT","es-ES","fr-FR","en-GB","de-DE","en-US"'
    b".html?q=&page=?page=?variant=#/search/blog/news/about/contact/login/account/order/cart"
    b"/checkout/category/categories/collections/products/product/pages/page/www..org/.net/.io/"
    b".co.uk/.de/.com/shop.https://shop.https://www.https://"
    b'","page_view",null,null,"DE","desktop","Chrome","Windows"'
    b',"page_view",null,null,"US","mobile","Safari","iOS","en"'
    b',"page_view",null,null,null,null,null,null,null],["'
)
