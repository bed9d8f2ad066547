"""The repository as the meta tests see it: files by path, rooms and their arrows, tables."""

import pathlib
import re
import subprocess


class Room:
    def __init__(self, name, path, depends):
        self.name, self.path, self.depends = name, path, depends


class Repository:
    """`files` are the texts by path; binary files have None."""

    def __init__(self, files):
        self.files = files

    @staticmethod
    def open(root):
        """What git tracks or would track; every file where there is no git."""
        root = pathlib.Path(root)
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                cwd=root, capture_output=True)
        if listed.returncode == 0:
            paths = listed.stdout.decode().split("\0")
        else:
            paths = [str(p.relative_to(root)) for p in root.rglob("*") if "build" not in p.parts]
        files = {}
        for path in sorted(p for p in paths if p and (root / p).is_file()):
            data = (root / path).read_bytes()
            try:
                files[path] = None if b"\0" in data else data.decode("utf-8")
            except UnicodeDecodeError:
                files[path] = None
        return Repository(files)

    def text(self, path):
        return self.files.get(path) or ""

    def below(self, folder, *suffixes):
        """(path, text) of the text files below a folder."""
        for path, text in self.files.items():
            if path.startswith(folder) and text is not None and path.endswith(suffixes or ("",)):
                yield path, text

    def rooms(self):
        """The symtile_room(...) lines, in order."""
        found = []
        text = re.sub(r"#.*", "", self.text("src/symtile/CMakeLists.txt"))
        for call in re.findall(r"symtile_room\(([^)]*)\)", text):
            words = call.split()
            lists = {"PATH": [], "DEPENDS": [], "LIBRARIES": [], "PCH": [], "EXCLUDE": []}
            current = []
            for word in words[1:]:
                if word in lists:
                    current = lists[word]
                else:
                    current.append(word)
            found.append(Room(words[0], (lists["PATH"] or [words[0]])[0], lists["DEPENDS"]))
        return found

    def table(self, path):
        """[(macro, arguments)] of a .def file, in order."""
        lines = [re.match(r"([A-Z_]+)\((.*)\)\s*$", line) for line in self.text(path).splitlines()]
        return [(m[1], [a.strip() for a in m[2].split(",")]) for m in lines if m]
