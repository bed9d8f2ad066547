"""The rules of the repository. Each check takes a Repository and returns what is wrong with it."""

import re

CODE = (".cpp", ".h", ".hpp", ".c", ".py", ".sh", ".cmake", "CMakeLists.txt")
MAX_LINES = 800

# What an example may include: the runtime's API, and for a kernel of one's own the compiler's two doors.
EXAMPLE_HEADERS = ("symtile/symtile.h", "symtile/symtile.hpp",
                   "symtile/driver/driver.h", "symtile/ir/tile_dsl.h")

# Tests that mention no diagnostic of these names are accepted; keep it empty.
UNTESTED_DIAGNOSTICS = set()


def include_arrows(repo):
    """Who may include whom is said once, in the DEPENDS of the rooms; transitively."""
    problems = []
    rooms = {}
    allowed = {}
    for room in repo.rooms():
        for dependency in room.depends:
            if dependency not in rooms:
                problems.append(f"src/symtile/CMakeLists.txt: room {room.name} depends on {dependency}, "
                                "which is not declared before it")
        rooms[room.name] = room
        allowed[room.name] = {room.name}.union(*(allowed.get(d, set()) for d in room.depends))
    if not rooms:
        problems.append("src/symtile/CMakeLists.txt declares no room")

    def room_of(path):
        fitting = [r for r in rooms.values() if path.startswith(r.path + "/")]
        return max(fitting, key=lambda r: len(r.path)).name if fitting else None

    for path, text in repo.below("src/symtile/", ".cpp", ".h", ".c"):
        inside = path.removeprefix("src/symtile/")
        room = room_of(inside)
        if room is None:
            problems.append(f"{path}: belongs to no room")
            continue
        for line, include in includes(text):
            if include.endswith(".pb.h") or f"{path.rpartition('/')[0]}/{include}" in repo.files:
                continue  # generated, or a file beside this one
            target = include.removeprefix("symtile/")
            if target == include:
                problems.append(f"{path}:{line}: '{include}' is not included as symtile/<room>/...")
            elif target in ("symtile.h", "symtile.hpp"):
                if "runtime" not in allowed[room]:
                    problems.append(f"{path}:{line}: room {room} may not include the public API")
            elif room_of(target) not in allowed[room]:
                problems.append(f"{path}:{line}: room {room} may not include {include}")
    for path, text in repo.below("examples/", ".cpp", ".h", ".c"):
        for line, include in includes(text):
            if include.startswith("symtile/") and include not in EXAMPLE_HEADERS:
                problems.append(f"{path}:{line}: examples use the public API only, not {include}")
    for path, text in repo.below("include/", ".h", ".hpp"):
        for line, include in includes(text):
            if include not in ("symtile/symtile.h", "symtile/symtile.hpp"):
                problems.append(f"{path}:{line}: a public header may not include {include}")
    return problems


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match:
            yield number, match[1]


def file_sizes(repo):
    """Above 800 lines a file is split by node or family."""
    return [f"{path}: {len(text.splitlines())} lines, more than {MAX_LINES}"
            for path, text in repo.below("", *CODE) if len(text.splitlines()) > MAX_LINES]


def tables(repo):
    """Each line of a table has its file, each file its line; lines are sorted."""
    problems = []
    for path in repo.files:
        if path.endswith(".def") and "keep-sorted" in repo.text(path):
            names = [arguments[0] for _, arguments in repo.table(path)]
            wrong = [b for a, b in zip(names, names[1:]) if a >= b]
            problems += [f"{path}: '{name}' is out of order or twice" for name in wrong]
    problems += one_file_each(repo, "src/symtile/op/ops.def", "src/symtile/op/",
                              lambda name: rf"^const OpRecord {name}_op\b",
                              r"^const OpRecord (\w+)_op\b")
    problems += one_file_each(repo, "src/symtile/library/calls.def", "src/symtile/library/",
                              lambda name: rf"^const LibraryCall {name}_call\b",
                              r"^const LibraryCall (\w+)_call\b")
    problems += one_file_each(repo, "src/symtile/runtime/builtins/builtins.def",
                              "src/symtile/runtime/builtins/",
                              lambda name: rf"^void {name}_builtin\(BuiltinContext&",
                              r"^void (\w+)_builtin\(BuiltinContext& \w*\) {")
    problems += one_file_each(repo, "src/symtile/transform/passes.def", "src/symtile/transform/",
                              lambda name: rf"^void {name}\(Module&",
                              r"^void (\w+)\(Module& ?\w*, PassContext& ?\w*\) {")
    for _, (name, level, *_) in repo.table("src/symtile/transform/passes.def"):
        if f"src/symtile/transform/{level}/{name}.cpp" not in repo.files:
            problems.append(f"src/symtile/transform/passes.def: '{name}' has no {level}/{name}.cpp")
    return problems + onnx_table(repo)


def one_file_each(repo, table, folder, definition, any_definition):
    """Line X <-> a file X.cpp that defines what X declares."""
    problems = []
    names = [arguments[0] for _, arguments in repo.table(table)]
    if not names:
        problems.append(f"{table}: is missing or empty")
    sources = {path: text for path, text in repo.below(folder, ".cpp") if not path.endswith("_test.cpp")}
    for name in names:
        own = [text for path, text in sources.items() if path.endswith(f"/{name}.cpp")]
        if not any(re.search(definition(name), text, re.M) for text in own):
            problems.append(f"{table}: '{name}' has no file {name}.cpp that defines it")
    for path, text in sources.items():
        for name in re.findall(any_definition, text, re.M):
            if name not in names:
                problems.append(f"{path}: '{name}' has no line in {table}")
    return problems


def onnx_table(repo):
    path = "src/symtile/frontend/onnx/ops.def"
    lines = repo.table(path)
    core = {arguments[0] for _, arguments in repo.table("src/symtile/op/ops.def")}
    listed = {arguments[1] for macro, arguments in lines if macro == "ONNX_OP"}
    problems = [] if lines else [f"{path}: is missing or empty"]
    defined = {}
    for source, text in repo.below("src/symtile/frontend/onnx/", ".cpp"):
        text = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", text, flags=re.M | re.S)
        for name in re.findall(r"^void (import_\w+)\(ImportContext& ?\w*\) {", text, re.M):
            defined.setdefault(name, source)
    for macro, (operator, target, *_) in lines:
        if macro == "ONNX_OP" and target not in defined:
            problems.append(f"{path}: importer {target} of {operator} is not defined")
        if macro == "ONNX_DIRECT" and target not in core:
            problems.append(f"{path}: {operator} maps to '{target}', which is no core operator")
    for name, source in defined.items():
        if name not in listed:
            problems.append(f"{source}: importer {name} has no line in {path}")
    return problems


def test_texts(repo):
    for path, text in repo.files.items():
        if text is not None and (path.startswith("test/") or "_test." in path) \
                and not path.startswith("test/meta/"):
            yield path, text


def diagnostics(repo):
    """Every diagnostic is raised by a test that names it."""
    path = "src/symtile/diag/diagnostics.def"
    names = [arguments[0] for _, arguments in repo.table(path)]
    mentioned = set()
    for _, text in test_texts(repo):
        mentioned.update(re.findall(r"DiagId::(\w+)", text))
        mentioned.update(re.findall(r"error\[(\w+)\]", text))
    problems = [] if names else [f"{path}: is missing or empty"]
    for name in names:
        if name not in mentioned and name not in UNTESTED_DIAGNOSTICS:
            problems.append(f"{path}: no test raises '{name}' (DiagId::{name} or error[{name}])")
        if name in mentioned and name in UNTESTED_DIAGNOSTICS:
            problems.append(f"test/meta/checks.py: '{name}' is tested and need not be exempt")
    return problems


def pass_tests(repo):
    """Every pass has a text test of its name, and every text test there a pass."""
    names = {arguments[0] for _, arguments in repo.table("src/symtile/transform/passes.def")}
    files = {path.split("/")[-1].removesuffix(".sym")
             for path, _ in repo.below("test/transform/", ".sym")}
    problems = [f"pass '{name}' has no test/transform/{name}.sym" for name in sorted(names - files)]
    return problems + [f"test/transform/{name}.sym: there is no pass '{name}'"
                       for name in sorted(files - names)]


# In pieces, so that this file does not name them.
REGISTRY_HOSTS = ["npmjs" + ".", "pypi" + ".org", "python" + "hosted.org", "deb.debian" + ".org"]


def forbidden_strings(repo):
    """Nothing of one machine and no address of a package registry."""
    homes = r"(?<![\w.$}])/(?:root|home/\w+|work|Users/\w+)/"
    problems = []
    for path, text in repo.files.items():
        for number, line in enumerate((text or "").splitlines(), 1):
            for host in REGISTRY_HOSTS:
                if host in line:
                    problems.append(f"{path}:{number}: names the registry host {host}")
            if path != "test/meta/checks.py" and re.search(homes, line):
                problems.append(f"{path}:{number}: an absolute path of one machine")
    return problems


CHECKS = [include_arrows, file_sizes, tables, diagnostics, pass_tests, forbidden_strings]
