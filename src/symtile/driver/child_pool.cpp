#include "symtile/driver/child_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "symtile/base/check.h"

namespace symtile {
namespace {

using Clock = std::chrono::steady_clock;

void write_all(int file, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

/// The child's side: never returns.
[[noreturn]] void run_child(const std::function<std::string(size_t)>& task, size_t index,
                            int result, int messages) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(messages, STDOUT_FILENO);
  dup2(messages, STDERR_FILENO);
  int code = 0;
  try {
    write_all(result, task(index));
  } catch (const std::exception& e) {
    write_all(messages, e.what());
    code = 4;
  }
  _exit(code);
}

struct Child {
  size_t index;
  pid_t process;
  std::array<int, 2> files;  ///< result, messages; -1 when closed
  std::array<std::string, 2> text;
  Clock::time_point start;
  bool timed_out = false;

  bool open() const { return files[0] >= 0 || files[1] >= 0; }
};

Child start_child(const std::function<std::string(size_t)>& task, size_t index) {
  std::array<int, 2> result, messages;
  if (pipe2(result.data(), O_CLOEXEC) != 0 || pipe2(messages.data(), O_CLOEXEC) != 0) {
    throw EnvironmentError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  const pid_t process = fork();
  if (process < 0) {
    throw EnvironmentError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (process == 0) {
    close(result[0]);
    close(messages[0]);
    run_child(task, index, result[1], messages[1]);
  }
  close(result[1]);
  close(messages[1]);
  return {index, process, {result[0], messages[0]}, {}, Clock::now()};
}

void read_some(Child& child, size_t which) {
  char buffer[1 << 14];
  const ssize_t n = read(child.files[which], buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n > 0) {
    child.text[which].append(buffer, static_cast<size_t>(n));
  } else {
    close(child.files[which]);
    child.files[which] = -1;
  }
}

std::string death_of(const Child& child, int status, const ChildLimits& limits) {
  std::string out;
  if (child.timed_out) {
    out = fmt::format("not done after {} s", static_cast<double>(limits.timeout.count()) / 1000);
  } else if (WIFSIGNALED(status)) {
    out = fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status) != 0) {
    out = fmt::format("ended with exit code {}", WEXITSTATUS(status));
  } else {
    return {};
  }
  std::string said = child.text[1].substr(0, 2000);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said.empty() ? out : out + ": " + said;
}

ChildOutcome finish(Child& child, const ChildLimits& limits) {
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  const std::chrono::duration<double> elapsed = Clock::now() - child.start;
  return {std::move(child.text[0]), death_of(child, status, limits), elapsed.count()};
}

/// Waits until a child says something or runs out of time.
void wait_for_news(std::vector<Child>& children, const ChildLimits& limits) {
  std::vector<pollfd> polled;
  std::vector<std::pair<size_t, size_t>> owners;
  auto deadline = Clock::time_point::max();
  for (size_t c = 0; c < children.size(); ++c) {
    if (!children[c].timed_out) deadline = std::min(deadline, children[c].start + limits.timeout);
    for (size_t which = 0; which < 2; ++which) {
      if (children[c].files[which] < 0) continue;
      polled.push_back({children[c].files[which], POLLIN, 0});
      owners.emplace_back(c, which);
    }
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  const auto wait = std::clamp<int64_t>(left.count() + 1, 0, 60'000);
  if (poll(polled.data(), polled.size(), static_cast<int>(wait)) > 0) {
    for (size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) read_some(children[owners[i].first], owners[i].second);
    }
  }
  for (Child& child : children) {
    if (child.timed_out || Clock::now() < child.start + limits.timeout) continue;
    child.timed_out = true;
    kill(child.process, SIGKILL);
  }
}

}  // namespace

void run_in_children(size_t count, const ChildLimits& limits,
                     const std::function<std::string(size_t)>& task,
                     const std::function<void(size_t, const ChildOutcome&)>& done) {
  std::vector<Child> children;
  size_t next = 0;
  while (next < count || !children.empty()) {
    while (next < count && children.size() < static_cast<size_t>(std::max(1, limits.jobs))) {
      children.push_back(start_child(task, next++));
    }
    wait_for_news(children, limits);
    for (size_t c = 0; c < children.size();) {
      if (children[c].open()) {
        ++c;
        continue;
      }
      const size_t index = children[c].index;
      const ChildOutcome outcome = finish(children[c], limits);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(c));
      done(index, outcome);
    }
  }
}

}  // namespace symtile
