"""Merge a problem's defaults into its variants.

A variant states only its differences. `let`, `defines` and `expect` merge name by name, and steps
key by key; any other value of a variant replaces the default. Every value keeps the location where
it was written, and a default that no variant uses is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.budgets import Budget
from harness.cases import COMPILED, LIBRARY, Kind
from harness.console.suggestions import did_you_mean
from harness.files.strict_yaml import Key, YamlLocation
from harness.matrix import check_builds_on, written
from harness.matrix.files import PTX
from harness.matrix.values import KernelName
from harness.matrix.variants import MergedStep, Needs, Problem, Sizes, Variant
from harness.silicon.features import FEATURES, Feature

_ONLY_COMPILED = ("defines", "flags", "include", "sources")
_ONLY_KERNELS = ("steps", "launch", "when", "fits")
"""Defaults that do not apply to a Python or host function, because it has no launch shape."""
_STEP = tuple(written.WrittenStep.model_fields)


def problem(name: str, body: written.Problem, place: YamlLocation) -> Problem:
    """The merged problem. Raises ConfigError with the location of conflicting settings."""
    return _Merger(body, place).problem(name)


class _Merger:
    def __init__(self, body: written.Problem, place: YamlLocation) -> None:
        self.body, self.defaults, self.top = body, body.defaults, place
        self.place = place.at("defaults")
        self.taken: set[tuple[Key, ...]] = set()
        """Paths of the defaults that at least one variant uses."""

    def problem(self, name: str) -> Problem:
        body = self.body
        for key in ("dtypes", "launch"):
            if body.says(key) and self.defaults.says(key):
                first = self.top.at(key).line
                raise self.place.at(key).error(f"also given on line {first}", "keep one of them")
        variants = {
            each: self._variant(each, it or written.Variant(), self.top.at("variants", each))
            for each, it in body.variants.items()
        }
        libraries = {
            each: self._function(each, it, self.top.at("libraries", each), as_library=True)
            for each, it in body.libraries.items()
        }
        self._check_names(variants, libraries)
        check_builds_on.check(variants, self.top)
        self._check_let([*variants.values(), *libraries.values()])
        self._check_taken()
        return Problem(
            name, Sizes(body.sizes.test, body.sizes.bench, body.sizes.emulate), body.baseline,
            variants, libraries, body.library, place=self.top,
        )  # fmt: skip

    # --- one variant --------------------------------------------------------------------------

    def _variant(self, name: str, own: written.Variant, place: YamlLocation) -> Variant:
        kinds = [key for key in ("python", "host", "source", "steps") if own.says(key)]
        if {"python", "host"} & set(kinds):
            if len(kinds) > 1:
                raise place.at(kinds[1]).error(
                    f"does not go with `{kinds[0]}`",
                    "a variant is python: file.py:function, or host: file.cu:function with args:, "
                    "or kernels, with a source: and steps:",
                )
            return self._function(name, own, place, as_library=False)
        if own.says("args"):
            raise place.at("args").error("belongs into each of the steps, or to `host:`")
        merged = _Values(self, own, place)
        steps = self._steps(own, place, merged.places)
        source = own.source or f"{name}.cu"
        is_ptx = source.endswith(PTX)
        for key in _ONLY_COMPILED if is_ptx else ():
            if own.says(key):
                raise place.at(key).error("does not go with PTX: its compiler has run already")
        return self._checked(Variant(
            name, "kernel", launch=tuple(merged.take("launch", ({},))), source=source, steps=steps,
            expect=merged.expect(defaults=True), builds_on=own.builds_on,
            idea=own.idea or own.trap, is_trap=bool(own.trap), arithmetic=own.arithmetic,
            needs=self._needs(own), **merged.common(), **({} if is_ptx else merged.compiled()),
            places=merged.places,
        ))  # fmt: skip

    def _function(
        self, name: str, own: written.Function, place: YamlLocation, as_library: bool
    ) -> Variant:
        """A Python or host function, either as a variant or as a library."""
        if own.says("python") == own.says("host"):
            raise place.error(
                "it needs python: file.py:function or host: file.cu:function, one of them"
            )
        kind: Kind = "python" if own.says("python") else "host"
        merged = _Values(self, own, place, without=_ONLY_KERNELS)
        compiled: dict[str, Any] = {}
        if kind == "host":
            compiled = merged.compiled()
        else:
            for key in (*_ONLY_COMPILED, "args"):
                if own.says(key):
                    what = "is called with what its parameters name" if key == "args" else (
                        "is not compiled by nvcc"
                    )  # fmt: skip
                    raise place.at(key).error(f"does not go with `python`: the function {what}")
        by_torch = isinstance(own, written.Library) and own.compiled
        if by_torch and kind == "host":
            raise place.at("compiled").error("does not go with `host`: torch compiles Python")
        merged.places["function",] = place.at(kind)
        idea, trap, arithmetic = (getattr(own, key, "") for key in ("idea", "trap", "arithmetic"))
        function = own.python or own.host
        return self._checked(Variant(
            name, kind, launch=tuple(merged.take("launch", ({},))), function=function,
            source=function.partition(":")[0] if kind == "host" else "", args=tuple(own.args),
            expect=merged.expect(defaults=False), builds_on=getattr(own, "builds_on", ""),
            idea=idea or trap, is_trap=bool(trap), arithmetic=arithmetic,
            needs=self._needs(own), **merged.common(), **compiled,
            as_library=as_library, compiled=by_torch, places=merged.places,
        ))  # fmt: skip

    def _needs(self, own: written.Function) -> Needs:
        """The combined requirements of the problem and the variant."""
        features: list[Feature] = []
        for each in (self.body.requires, own.requires):
            if each.compute_capability is not None:
                features.append(Feature(each.compute_capability, ""))
            features += [FEATURES[name] for name in each.features]
        shared = max(self.body.requires.shared, own.requires.shared)
        return Needs(tuple(features), shared)

    def _checked(self, variant: Variant) -> Variant:
        if not variant.dtypes:
            raise (
                variant.places[()]
                .at("dtypes")
                .error(
                    "this key is missing", "give `dtypes:` to the problem, in its defaults, or here"
                )
            )
        if set(self.body.sizes.bench[0]) & set(variant.launch[0]):
            raise variant.place("launch").error("a launch key has the name of a size")
        return variant

    # --- steps --------------------------------------------------------------------------------

    def _steps(
        self, own: written.Variant, place: YamlLocation, places: dict[tuple[Key, ...], YamlLocation]
    ) -> tuple[MergedStep, ...]:
        """The steps: a list names all of them; a mapping, or no value at all, keeps the default
        steps."""
        defaults = self.defaults.steps
        at = place.at("steps")
        if isinstance(own.steps, list):
            steps = [
                self._item(item, at.at(index), index, places)
                for index, item in enumerate(own.steps)
            ]
        else:
            changes: Mapping[str, written.WrittenStep] = own.steps or {}
            for name in changes:
                if name not in defaults:
                    raise at.at(name).error(self._no_such_step(name))
            if not defaults:
                raise at.error("this key is missing", "write the kernels that it launches")
            steps = [
                self._step(name, changes.get(name), at.at(name), index, places)
                for index, name in enumerate(defaults)
            ]
        return tuple(steps)

    def _item(
        self,
        item: str | written.WrittenStep,
        at: YamlLocation,
        index: int,
        places: dict[tuple[Key, ...], YamlLocation],
    ) -> MergedStep:
        """Merge one entry of a list: the name of a default step, or a step that names its
        kernel."""
        if isinstance(item, str):
            if item not in self.defaults.steps:
                raise at.error(self._no_such_step(item))
            return self._step(item, None, at, index, places)
        if item.kernel is None:
            raise at.at("kernel").error("this key is missing")
        return self._step(item.kernel.text, item, at, index, places)

    def _no_such_step(self, name: str) -> str:
        known = list(self.defaults.steps)
        there = f"there are {', '.join(known)}{did_you_mean(name, known)}" if known else (
            "there are none"
        )  # fmt: skip
        return (
            f"`{name}` is not one of the steps in defaults; {there}\n"
            "  write a step of its own in a list: steps: [{kernel: …, grid: …, block: …, args: …}]"
        )

    def _step(
        self,
        name: str,
        own: written.WrittenStep | None,
        at: YamlLocation,
        index: int,
        places: dict[tuple[Key, ...], YamlLocation],
    ) -> MergedStep:
        """A step's own values, which take precedence over those of the default step with that
        name."""
        base = self.defaults.steps.get(name)
        base_at = self.place.at("steps", name)
        places["steps", index] = at if own is not None else base_at
        found: dict[str, Any] = {}
        for key in _STEP:
            if own is not None and own.says(key):
                found[key], places["steps", index, key] = getattr(own, key), at.at(key)
            elif base is not None and base.says(key):
                found[key], places["steps", index, key] = getattr(base, key), base_at.at(key)
                self.taken.add(("steps", name, key))
        if base is not None:
            self.taken.add(("steps", name))
        if "kernel" not in found:
            try:
                found["kernel"] = KernelName(name)
            except ValueError as error:
                raise base_at.error(str(error)) from None
            places["steps", index, "kernel"] = base_at
        for key in ("grid", "block", "args"):
            if key not in found:
                raise places["steps", index].at(key).error("this key is missing")
        return MergedStep(**{**found, "args": tuple(found["args"])})

    # --- conflicting settings -----------------------------------------------------------------

    def _check_names(
        self, variants: Mapping[str, Variant], libraries: Mapping[str, Variant]
    ) -> None:
        baseline = self.body.baseline
        if baseline not in variants:
            raise self.top.at("baseline").error(
                f"`{baseline}` is not a variant; there are {', '.join(variants)}"
                f"{did_you_mean(baseline, variants)}"
            )
        for name in (LIBRARY, COMPILED):
            if name in variants:
                raise self.top.at("variants", name).error(
                    f"`{name}` is the library's name; choose another"
                )
        for name in libraries:
            if name in variants or name in self.body.library:
                raise self.top.at("libraries", name).error(
                    "another row has this name; choose another"
                )

    def _check_let(self, variants: Sequence[Variant]) -> None:
        """Reject an unused name in `let`, which is probably misspelt. A Python function may use any
        of these names."""
        for variant in variants:
            used = variant.used_names() if variant.kind != "python" else set(variant.let)
            for name in variant.own_let:
                if name not in used:
                    known = [each for each in (*used, *self.defaults.let) if each != name]
                    raise variant.place("let", name).error(
                        f"nothing uses `{name}`{did_you_mean(name, known)}"
                    )
            self.taken |= {("let", name) for name in used if name not in variant.own_let}

    def _check_taken(self) -> None:
        """Reject a default that no variant uses: it is redundant or a mistake."""
        for path in self._leaves():
            if path not in self.taken:
                what = "each variant has its own"
                if path[0] == "let":
                    what = "nothing uses it"
                elif path[0] == "steps" and len(path) == 2:
                    what = "no variant launches it"
                raise self.place.at(*path).error(
                    f"a default that no variant uses: {what}", "remove it, or correct its name"
                )

    def _leaves(self) -> Sequence[tuple[Key, ...]]:
        """The paths of all defaults, each step before its keys."""
        found: list[tuple[Key, ...]] = []
        for key in type(self.defaults).model_fields:
            if not self.defaults.says(key):
                continue
            value = getattr(self.defaults, key)
            if key in ("let", "defines", "expect"):
                found += [(key, name) for name in value]
            elif key == "steps":
                for name, step in value.items():
                    found.append((key, name))
                    found += [(key, name, each) for each in _STEP if step.says(each)]
            else:
                found.append((key,))
        return found


class _Values:
    """The values of one variant, except its steps, and the location of each value."""

    def __init__(
        self, merger: _Merger, own: written.Common, place: YamlLocation, without: Sequence[str] = ()
    ) -> None:
        self._merger, self._own, self._place, self._without = merger, own, place, without
        written_here = [
            key
            for key in ("source", "args", "builds_on", "idea", "trap")
            if key in own.model_fields_set
        ]
        self.places: dict[tuple[Key, ...], YamlLocation] = {
            (): place, **{(key,): place.at(key) for key in written_here},
        }  # fmt: skip

    def take(self, key: str, otherwise: Any) -> Any:
        """The variant's own value, else the default, else the problem's value, else `otherwise`."""
        merger = self._merger
        if key in type(self._own).model_fields and self._own.says(key):
            self.places[key,] = self._place.at(key)
            return getattr(self._own, key)
        if key in self._without:
            return otherwise
        if merger.defaults.says(key):
            self.places[key,] = merger.place.at(key)
            merger.taken.add((key,))
            return getattr(merger.defaults, key)
        if key in ("dtypes", "launch") and merger.body.says(key):
            self.places[key,] = merger.top.at(key)
            return getattr(merger.body, key)
        return otherwise

    def merged(self, key: str) -> dict[str, Any]:
        """`let`, `defines` or `expect`: the variant's names take precedence over the defaults'."""
        default, own = getattr(self._merger.defaults, key), getattr(self._own, key)
        for name in default:
            if name not in own:
                self.places[key, name] = self._merger.place.at(key, name)
                if key != "let":  # used only if something refers to it
                    self._merger.taken.add((key, name))
        for name in own:
            self.places[key, name] = self._place.at(key, name)
        return {**default, **own}

    def expect(self, defaults: bool) -> dict[str, Budget]:
        """The budgets; default budgets apply only to kernels, not to functions or libraries."""
        if isinstance(self._own, written.Variant):
            found = self.merged("expect") if defaults else self._own.expect
            for name in self._own.expect:
                self.places["expect", name] = self._place.at("expect", name)
            return {name: budget for name, budget in found.items() if budget is not None}
        return {}

    def common(self) -> dict[str, Any]:
        """The keys that kernels and functions share."""
        return {
            "dtypes": tuple(self.take("dtypes", ())),
            "let": self.merged("let"),
            "when": self.take("when", None),
            "fits": self.take("fits", None),
            "overwrites": tuple(self.take("overwrites", ())),
        }

    def compiled(self) -> dict[str, Any]:
        """The variant's options for nvcc."""
        listed = {key: tuple(self.take(key, ())) for key in _ONLY_COMPILED if key != "defines"}
        return {"defines": self.merged("defines"), **listed}
