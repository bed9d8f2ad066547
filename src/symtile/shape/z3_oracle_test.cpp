// Z3 as a second opinion: it refutes nothing that symtile proves, and symtile proves most of what
// Z3 can on questions of the kind a compiler asks.
#include <gtest/gtest.h>

#if __has_include(<z3++.h>)
#include <z3++.h>

#include "symtile/shape/facts.h"
#include "symtile/shape/random_expr.h"

namespace symtile {
namespace {

class Oracle {
 public:
  Oracle() : solver_(context_) {
    z3::params params(context_);
    params.set("timeout", 150u);
    solver_.set(params);
  }

  z3::expr translate(const DimExpr& e) {
    z3::expr total = context_.int_val(0);
    for (const DimTerm& t : e.terms()) {
      z3::expr value = context_.int_val(t.coefficient);
      for (const auto& [atom, power] : t.factors) {
        const z3::expr factor = translate(atom);
        for (int i = 0; i < power; ++i) value = value * factor;
      }
      total = total + value;
    }
    return total;
  }

  z3::expr translate(const DimAtom& atom) {
    if (atom.kind == DimAtom::Kind::symbol) return context_.int_const(atom.name.c_str());
    const z3::expr a = translate(atom.args[0]);
    const z3::expr b = translate(atom.args[1]);
    switch (atom.kind) {
      // Z3 divides so that the remainder is not negative: floor for positive divisors, and the
      // canonical form has no other constant ones.
      case DimAtom::Kind::floordiv:
        return z3::expr(context_, Z3_mk_div(context_, a, b));
      case DimAtom::Kind::floormod:
        return z3::mod(a, b);
      case DimAtom::Kind::min:
        return z3::ite(a <= b, a, b);
      default:
        return z3::ite(a >= b, a, b);
    }
  }

  void assume(const Facts& facts) {
    for (const char* name : {"h", "m", "n"}) {
      const DimRange r = facts.range(DimExpr::symbol(name));
      const z3::expr s = context_.int_const(name);
      if (r.low) solver_.add(s >= context_.int_val(*r.low));
      if (r.high) solver_.add(s <= context_.int_val(*r.high));
    }
    for (const auto& [e, d] : facts.divisors()) {
      solver_.add(z3::mod(translate(e), context_.int_val(d)) == 0);
    }
    for (const auto& f : facts.equalities()) solver_.add(translate(f.a) == translate(f.b));
    for (const auto& f : facts.inequalities()) solver_.add(translate(f.a) <= translate(f.b));
  }

  enum class Answer { proved, refuted, unknown };
  Answer ask(const z3::expr& claim) {
    solver_.push();
    solver_.add(!claim);
    const z3::check_result result = solver_.check();
    solver_.pop();
    if (result == z3::unsat) return Answer::proved;
    return result == z3::sat ? Answer::refuted : Answer::unknown;
  }

 private:
  z3::context context_;
  z3::solver solver_;
};

struct Tally {
  int asked = 0;
  int z3_proved = 0;
  int both = 0;
  int ours_only = 0;
};

void record(Tally& tally, bool ours, Oracle::Answer theirs, const std::string& what) {
  ++tally.asked;
  if (ours) {
    ASSERT_NE(theirs, Oracle::Answer::refuted) << "proved, but Z3 refutes: " << what;
  }
  if (theirs == Oracle::Answer::proved) {
    ++tally.z3_proved;
    tally.both += ours;
    if (!ours) std::printf("[ not proved ] %s\n", what.c_str());
  } else {
    tally.ours_only += ours;
  }
}

// Two formulas in a relation that holds often: one rounds, splits, scales or clamps the other.
std::pair<DimExpr, DimExpr> related(RandomExpr& random) {
  const auto symbol = [&] { return DimExpr::symbol(random.symbol()); };
  const auto linear = [&] {
    return symbol() * random.integer(1, 4) + symbol() * random.integer(-1, 3) +
           random.integer(0, 7);
  };
  const DimExpr a = linear();
  const DimExpr k = random.integer(2, 8);
  const DimExpr l = random.integer(2, 4);
  switch (random.integer(0, 11)) {
    case 0:
      return {a, ceildiv(a, k) * k};
    case 1:
      return {floordiv(a, k) * k, a};
    case 2:
      return {floordiv(a, k), floordiv(a + symbol(), k)};
    case 3:
      return {ceildiv(ceildiv(a, k), l), ceildiv(a, k * l)};
    case 4:
      return {min(a, linear()), max(a, symbol())};
    case 5:
      return {a * symbol(), (a + symbol()) * symbol()};
    case 6:
      return {floordiv(a, 2) + floordiv(a + 1, 2), a};
    case 7:
      return {max(a + k, symbol() + k), max(a, symbol()) + k};
    case 8:
      return {floormod(a, k), k - 1};
    case 9:
      return {floordiv(a, k) * floordiv(symbol(), l), a * symbol()};
    case 10:
      return {a, linear()};
    default:
      return {raw_to_dim(random.expression(2)), raw_to_dim(random.expression(2))};
  }
}

TEST(Z3Oracle, AgreesOnRandomQuestions) {
  RandomExpr random(31337, {});
  Tally equal;
  Tally different;
  Tally le;
  for (int trial = 0; trial < 220; ++trial) {
    Facts facts;
    for (const char* name : {"h", "m", "n"}) {
      const int64_t low = random.integer(0, 2);
      facts.bound(name, low, low + random.integer(20, 2000));
    }
    if (random.integer(0, 2) == 0)
      facts.assume_divisible(DimExpr::symbol("n"), random.integer(2, 8));
    if (random.integer(0, 2) == 0) facts.assume_le(DimExpr::symbol("h"), DimExpr::symbol("m"));
    if (random.integer(0, 4) == 0) facts.assume_equal(DimExpr::symbol("h"), DimExpr::symbol("n"));
    const auto [a, b] = related(random);
    std::string what = a.str() + "  |  " + b.str() + "  where";
    for (const std::string& line : facts.str()) what += " " + line + ";";
    SCOPED_TRACE(what);
    Oracle oracle;
    oracle.assume(facts);
    const z3::expr x = oracle.translate(a);
    const z3::expr y = oracle.translate(b);
    record(equal, facts.proves_equal(a, b), oracle.ask(x == y), "== " + what);
    record(different, facts.proves_not_equal(a, b), oracle.ask(x != y), "!= " + what);
    record(le, facts.proves_le(a, b), oracle.ask(x <= y), "<= " + what);
    record(le, facts.proves_le(b, a), oracle.ask(y <= x), ">= " + what);
    if (HasFatalFailure()) return;
  }
  int proved = 0;
  int provable = 0;
  for (const auto& [name, t] : {std::pair{"==", equal}, {"!=", different}, {"<=", le}}) {
    std::printf(
        "[ z3 share ] %s: symtile proves %d of the %d that Z3 proves (%d more alone, %d asked)\n",
        name, t.both, t.z3_proved, t.ours_only, t.asked);
    proved += t.both;
    provable += t.z3_proved;
  }
  EXPECT_GT(provable, 100);
  EXPECT_GE(proved * 100, provable * 60);
}

}  // namespace
}  // namespace symtile

#else

TEST(Z3Oracle, AgreesOnRandomQuestions) { GTEST_SKIP() << "z3++.h was not there at build time"; }

#endif
