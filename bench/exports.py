#!/usr/bin/env python3
"""Exports models with random weights to ONNX (opset 17), for bench/models.py (needs Python packages torch, torchvision, timm and
transformers).

  bench/exports.py OUT_FOLDER [NAME...]

Without names all of the list, one after the other; a file that is there already is kept.
"""
import logging
import os
import sys
import warnings

import timm
import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional

TIMM = """cait_xxs24_224 coat_lite_tiny convmixer_768_32 convnextv2_atto crossvit_tiny_240 cspdarknet53 dpn68 edgenext_small
efficientformer_l1 efficientnet_lite0 fastvit_t8 gernet_s ghostnet_100 hrnet_w18_small lcnet_100 levit_128s mixer_s16_224
mobileone_s0 mobilevit_s nf_resnet26 poolformer_s12 pvt_v2_b0 repvgg_a0 res2net50_26w_4s resmlp_12_224 sequencer2d_s
swinv2_cr_tiny_224 twins_pcpvt_small vovnet39a xception41 xcit_nano_12_p16_224""".split()


class UNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()

        def block(from_, to):
            layers = [[nn.Conv2d(c, to, 3, padding=1), nn.BatchNorm2d(to), nn.ReLU()] for c in (from_, to)]
            return nn.Sequential(*sum(layers, []))

        self.down = nn.ModuleList([block(3, width), block(width, 2 * width), block(2 * width, 4 * width)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * width, 2 * width, 2, 2), nn.ConvTranspose2d(2 * width, width, 2, 2)])
        self.join = nn.ModuleList([block(4 * width, 2 * width), block(2 * width, width)])
        self.out = nn.Conv2d(width, 21, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](functional.max_pool2d(a, 2))
        y = self.down[2](functional.max_pool2d(b, 2))
        for up, join, skipped in zip(self.up, self.join, (b, a)):
            y = join(torch.cat([up(y), skipped], 1))
        return functional.log_softmax(self.out(y), 1)


class SubPixel(nn.Module):
    """ESPCN (CVPR'16)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(3, 64, 5, padding=2), nn.Conv2d(64, 32, 3, padding=1), nn.Conv2d(32, 27, 3, padding=1)])

    def forward(self, x):
        return functional.pixel_shuffle(self.convs[2](torch.tanh(self.convs[1](torch.tanh(self.convs[0](x))))), 3)


class Temporal(nn.Module):
    """Dilated convolutions over a sequence, padded on the left (TCN)."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(64, 64, 3, dilation=2**i) for i in range(6)])

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = x + functional.relu(conv(functional.pad(x, (2 * 2**i, 0))))
        return x


class Speech(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.GRU(80, 256, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(512, 40)

    def forward(self, x):
        return functional.log_softmax(self.out(self.layers(x)[0]), -1)


class First(nn.Module):
    """The first result of a model, whose input has that name."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        result = self.model(x) if self.name is None else self.model(**{self.name: x})
        return result["out"] if isinstance(result, dict) and "out" in result else result if torch.is_tensor(result) else result[0]


def of_transformers(model, config, **sizes):
    known = transformers
    if model == "WhisperEncoder":
        known = transformers.models.whisper.modeling_whisper
    return lambda: getattr(known, model)(getattr(transformers, config)(**sizes))


TOKENS = ("input_ids", lambda: torch.randint(0, 1000, (1, 64)))
EAGER = {"attn_implementation": "eager"}
VISION = torchvision.models
# Model, the name of its input (None: the only one), what to export it with.
OTHERS = {
    "albert": (of_transformers("AlbertModel", "AlbertConfig", vocab_size=1000, hidden_size=768, num_attention_heads=12,
                               intermediate_size=3072, num_hidden_layers=4, **EAGER), *TOKENS),
    "deberta": (of_transformers("DebertaV2Model", "DebertaV2Config", vocab_size=1000, hidden_size=384, num_attention_heads=6,
                                num_hidden_layers=4, intermediate_size=1536, relative_attention=True, position_buckets=64,
                                pos_att_type=["p2c", "c2p"]), *TOKENS),
    "distilbert": (of_transformers("DistilBertModel", "DistilBertConfig", vocab_size=1000, **EAGER), *TOKENS),
    "electra": (of_transformers("ElectraModel", "ElectraConfig", vocab_size=1000, num_hidden_layers=6), *TOKENS),
    "mamba": (of_transformers("MambaModel", "MambaConfig", vocab_size=1000, hidden_size=256, num_hidden_layers=2, use_cache=False),
              "input_ids", lambda: torch.randint(0, 1000, (1, 32))),
    "mobilebert": (of_transformers("MobileBertModel", "MobileBertConfig", vocab_size=1000, num_hidden_layers=6), *TOKENS),
    "segformer": (of_transformers("SegformerModel", "SegformerConfig"), "pixel_values", lambda: torch.randn(1, 3, 256, 256)),
    "squeezebert": (of_transformers("SqueezeBertModel", "SqueezeBertConfig", vocab_size=1000, num_hidden_layers=6), *TOKENS),
    "t5-encoder": (of_transformers("T5EncoderModel", "T5Config", vocab_size=1000, d_model=512, num_layers=4), *TOKENS),
    "wav2vec2": (of_transformers("Wav2Vec2Model", "Wav2Vec2Config", num_hidden_layers=4, **EAGER), "input_values",
                 lambda: torch.randn(1, 16000)),
    "whisper-encoder": (of_transformers("WhisperEncoder", "WhisperConfig", encoder_layers=4, d_model=384, encoder_attention_heads=6,
                                        encoder_ffn_dim=1536, max_source_positions=500, **EAGER), "input_features",
                        lambda: torch.randn(1, 80, 1000)),
    "lstm": (lambda: nn.LSTM(256, 256, 2, batch_first=True), None, lambda: torch.randn(1, 64, 256)),
    "gru": (Speech, None, lambda: torch.randn(1, 100, 80)),
    "unet": (UNet, None, lambda: torch.randn(1, 3, 128, 128)),
    "espcn": (SubPixel, None, lambda: torch.randn(1, 3, 64, 64)),
    "tcn": (Temporal, None, lambda: torch.randn(4, 64, 400)),
    "r3d_18": (VISION.video.r3d_18, None, lambda: torch.randn(1, 3, 8, 64, 64)),
    "r2plus1d_18": (VISION.video.r2plus1d_18, None, lambda: torch.randn(1, 3, 8, 64, 64)),
    "deeplab": (lambda: VISION.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None), None,
                lambda: torch.randn(1, 3, 256, 256)),
    "lraspp": (lambda: VISION.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None), None,
               lambda: torch.randn(1, 3, 256, 256)),
}


def export(name, path):
    torch.manual_seed(1)
    if name in OTHERS:
        make, key, draw = OTHERS[name]
        model, x = First(make().eval(), key), draw()
    else:
        model = timm.create_model(name, pretrained=False, exportable=True).eval()
        x = torch.randn(1, *model.default_cfg["input_size"])
    torch.onnx.export(model, (x,), path, opset_version=17, dynamo=False, input_names=["x"], output_names=["y"])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in sys.argv[2:] or TIMM + list(OTHERS):
        path = os.path.join(sys.argv[1], name + ".onnx")
        if not os.path.exists(path):
            export(name, path)
            print(f"{name}: {os.path.getsize(path) >> 20} MiB", flush=True)


if __name__ == "__main__":
    main()
