#!/usr/bin/env python3
"""Renders the images of examples/ocr/ and writes what can be read on them, a line for each row.
Run by hand; the results are committed.

Needs Pillow and the fonts DejaVu (fonts-dejavu) and WenQuanYi Micro Hei (fonts-wqy-microhei).
"""

import pathlib

from PIL import Image, ImageDraw, ImageFont

OUT = pathlib.Path(__file__).resolve().parent.parent / "examples/ocr/images"
FONTS = pathlib.Path("/usr/share/fonts/truetype")
MONO = FONTS / "dejavu/DejaVuSansMono.ttf"
SANS = FONTS / "dejavu/DejaVuSans.ttf"
BOLD = FONTS / "dejavu/DejaVuSans-Bold.ttf"
SERIF = FONTS / "dejavu/DejaVuSerif.ttf"
HEI = FONTS / "wqy/wqy-microhei.ttc"


class Page:
    def __init__(self, width, height, paper, ink):
        self.image = Image.new("RGB", (width, height), paper)
        self.draw = ImageDraw.Draw(self.image)
        self.ink = ink
        self.rows = {}

    def text(self, x, y, words, font, size):
        self.draw.text((x, y), words, fill=self.ink, font=ImageFont.truetype(str(font), size))
        self.rows.setdefault(y, []).append(words)

    def save(self, name):
        OUT.mkdir(parents=True, exist_ok=True)
        options = {"quality": 88} if name.endswith(".jpg") else {"optimize": True}
        if name.endswith(".png"):
            self.image = self.image.quantize(32)
        self.image.save(OUT / name, **options)
        (OUT / name).with_suffix(".txt").write_text("".join(" ".join(row) + "\n" for row in self.rows.values()))


def receipt():
    page = Page(360, 520, "#fbf8ef", "#222222")
    page.text(92, 20, "CORNER SHOP", BOLD, 24)
    for i, (item, price) in enumerate([("Bread", "2.40"), ("Butter", "3.15"), ("Apples", "4.80"),
                                       ("Coffee", "7.95")]):
        page.text(30, 90 + 54 * i, item, MONO, 22)
        page.text(262, 90 + 54 * i, price, MONO, 22)
    page.draw.line((30, 320, 330, 320), fill=page.ink, width=2)
    page.text(30, 342, "TOTAL", BOLD, 26)
    page.text(250, 342, "18.30", BOLD, 26)
    page.text(76, 440, "Thank you!", SANS, 28)
    page.save("receipt.png")


def sign():
    page = Page(640, 300, "#0b4a8f", "#ffffff")
    page.draw.rounded_rectangle((12, 12, 628, 288), 24, outline="#ffffff", width=5)
    page.text(70, 48, "PLATFORM 4", BOLD, 72)
    page.text(70, 180, "Trains to Northbridge", SANS, 44)
    page.save("sign.png")


def paragraph():
    page = Page(736, 400, "#ffffff", "#000000")
    for i, line in enumerate(["A compiler reads a program once", "and writes another that does the",
                              "same work, only faster. This one", "does not ask how wide your image",
                              "is before it starts."]):
        page.text(48, 36 + 68 * i, line, SERIF, 34)
    page.save("paragraph.png")


def label():
    page = Page(480, 320, "#e4f0dc", "#1c4a1c")
    page.text(120, 28, "GREEN TEA", BOLD, 40)
    page.text(180, 98, "高山绿茶", HEI, 34)
    page.text(70, 178, "净含量100克", HEI, 30)
    page.text(70, 244, "保质期18个月", HEI, 30)
    page.save("label.jpg")


def ticker():
    page = Page(1184, 64, "#181818", "#ffb000")
    page.text(24, 14, "NEXT BUS: LINE 27 TO HARBOUR SQUARE, 6 MINUTES - LINE 31, 14 MINUTES", SANS, 28)
    page.save("ticker.png")


for render in (receipt, sign, paragraph, label, ticker):
    render()
