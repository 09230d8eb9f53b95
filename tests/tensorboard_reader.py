"""Prints as JSON what TensorBoard's own EventAccumulator finds in a log folder.

{run: {"scalars": {tag: [[step, value]]}, "histograms": {tag: [[step, min, max, num, sum, sum_squares, limits, counts]]},
"images": {tag: [[step, height, width, RGB bytes as hex, stated height, stated width]]}}}; floating-point numbers as
strings (JSON has no NaN) that read back exactly.
"""

import io
import json
import os
import sys

from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def text(value):
    return repr(float(value))


def read(folder):
    log = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "images": 0})
    log.Reload()
    tags = log.Tags()
    images = {}
    for tag in tags["images"]:
        images[tag] = []
        for event in log.Images(tag):
            picture = Image.open(io.BytesIO(event.encoded_image_string)).convert("RGB")
            images[tag].append([event.step, picture.height, picture.width, picture.tobytes().hex(), event.height, event.width])
    return {
        "scalars": {tag: [[e.step, text(e.value)] for e in log.Scalars(tag)] for tag in tags["scalars"]},
        "histograms": {
            tag: [
                [e.step]
                + [text(x) for x in (h.min, h.max, h.num, h.sum, h.sum_squares)]
                + [[text(x) for x in h.bucket_limit], [text(x) for x in h.bucket]]
                for e in log.Histograms(tag)
                for h in [e.histogram_value]
            ]
            for tag in tags["histograms"]
        },
        "images": images,
    }


root = sys.argv[1]
print(json.dumps({run: read(os.path.join(root, run)) for run in sorted(os.listdir(root))}))
