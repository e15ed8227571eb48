"""Every passage says where it stands in its document, and under which headings."""

from __future__ import annotations

from lawful.rag import MarkdownSplitter, TokenSplitter, document

text = """# Install
Use pip.

## Windows
~~~sh
py -m pip install lawful
~~~
"""
page = document(text, id="install.md")
for passage in MarkdownSplitter(200).split(page):
    assert text[passage.start : passage.end] == passage.text
    print(passage.id, passage.start, passage.end, passage.headers)

words = TokenSplitter(4, count=lambda piece: len(piece.split()))  # or a real tokenizer's count
print([passage.text for passage in words.split(document("one two three. four five six seven", id="n"))])

# prints: install.md#1 0 18 ('Install',)
# prints: install.md#2 20 65 ('Install', 'Windows')
# prints: ['one two three.', 'four five six seven']
