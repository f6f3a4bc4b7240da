#!/usr/bin/env python3
"""PyTorch on a GPU, for comparison with `egraph profile MODEL --backend cuda --validate N` there.

  bench/torch_cuda_peer.py [--tf32] [MODEL...]        (needs torch, torchvision, transformers and a GPU)

Batch 1, random weights, convolutions by the algorithm that is measured fastest (cudnn.benchmark), the whole model
captured as one CUDA graph; median of 40 replays. float32 is float32 unless --tf32 is given.
"""
import argparse
import statistics
import time

import torch
import torchvision
import transformers

IMAGE_MODELS = ["squeezenet1_0", "resnet50", "mobilenet_v2", "inception_v3", "resnext50_32x4d", "densenet121",
                "efficientnet_b0", "convnext_tiny", "vgg19"]


class Bert(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = transformers.BertModel(transformers.BertConfig(), add_pooling_layer=False)

    def forward(self, tokens):
        return self.model(tokens)[0]


def make(name):
    if name == "bert_base":
        return Bert(), torch.randint(0, 1000, (1, 128))
    if name == "inception_v3":
        return torchvision.models.inception_v3(weights=None, init_weights=False), torch.randn(1, 3, 299, 299)
    return getattr(torchvision.models, name)(weights=None), torch.randn(1, 3, 224, 224)


def milliseconds(model, x):
    model, x = model.eval().cuda(), x.cuda()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad():
        with torch.cuda.stream(side):
            for _ in range(5):
                model(x)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
    times = []
    for _ in range(40):
        torch.cuda.synchronize()
        start = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.tf32
    print("| model | PyTorch, ms |\n|---|---|")
    for name in options.models or IMAGE_MODELS + ["bert_base"]:
        print(f"| {name} | {milliseconds(*make(name)):.3f} |", flush=True)


if __name__ == "__main__":
    main()
