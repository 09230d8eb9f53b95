"""Makes docs/terminal.svg: the text of a terminal, as `tmux capture-pane -p` prints it, from standard input.

    tmux capture-pane -p | python3 docs/terminal_svg.py > docs/terminal.svg
"""

import sys
from html import escape

COLUMN, ROW, MARGIN = 8.4, 19, 14
# Plain spaces in a row would be shown as one.
NO_BREAK = "\u00a0"

lines = [line.rstrip() for line in sys.stdin.read().rstrip().split("\n")]
width = MARGIN * 2 + COLUMN * max(80, *(len(line) for line in lines))
height = MARGIN * 2 + ROW * len(lines)
print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">')
print(f'<rect width="{width:.0f}" height="{height}" rx="6" fill="#1e2127"/>')
print('<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14" fill="#d7dae0">')
for i, line in enumerate(lines):
    text = escape(line).replace(" ", NO_BREAK)
    length = f' textLength="{COLUMN * len(line):.1f}" lengthAdjust="spacing"' if line else ""
    print(f'<text x="{MARGIN}" y="{MARGIN + ROW * i + 14}"{length}>{text}</text>')
print("</g>\n</svg>")
