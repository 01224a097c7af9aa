// Writes the outcome of each labelled test into the file that $TROUPE_TEST_RESULTS names. CTest sets the variable; the
// acceptance table reads the file. It has one line for the program, then one for every labelled test with its labels
// before any test runs, then one for the end of each test, with the reason if it was skipped. A test that is listed and
// has no end did not run, for example because the program was killed.
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/traverse.hpp>
#include <boost/test/tree/visitor.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>

namespace {

namespace ut = boost::unit_test;

/// Returns the unit's labels and those of its suites, each preceded by a space.
std::string labels_of(const ut::test_unit& unit) {
  std::string labels;
  for (const std::string& label : unit.p_labels.get()) labels += ' ' + label;
  if (unit.p_parent_id != ut::INV_TEST_UNIT_ID)
    labels += labels_of(ut::framework::get(unit.p_parent_id, ut::TUT_SUITE));
  return labels;
}

/// Returns the reason without the precondition's framing.
std::string plain(const std::string& reason) {
  const std::string before = "precondition failed: ";
  return reason.starts_with(before) ? reason.substr(before.size()) : reason;
}

void for_each_labelled_case(const ut::test_unit& root, const std::function<void(const ut::test_unit&)>& visit) {
  struct Visitor final : ut::test_tree_visitor {
    explicit Visitor(const std::function<void(const ut::test_unit&)>& function) : visit_case(function) {}
    void visit(const ut::test_case& test) override {
      if (!labels_of(test).empty()) visit_case(test);
    }
    const std::function<void(const ut::test_unit&)>& visit_case;
  } visitor(visit);
  ut::traverse_test_tree(root.p_id, visitor, true);
}

class ResultLog final : public ut::test_observer {
 public:
  ResultLog() {
    const char* path = std::getenv("TROUPE_TEST_RESULTS");
    if (path == nullptr) return;
    out_.open(path, std::ios::trunc);
    unsetenv("TROUPE_TEST_RESULTS");  // children, often this program again, must not write to it
    const auto& all = ut::framework::master_test_suite();
    out_ << "program " << all.argv[0] << '\n';
    for_each_labelled_case(all,
                           [&](const auto& test) { out_ << "test " << test.full_name() << labels_of(test) << '\n'; });
    out_.flush();
    ut::framework::register_observer(*this);
  }
  ~ResultLog() { ut::framework::deregister_observer(*this); }
  ResultLog(const ResultLog&) = delete;
  ResultLog& operator=(const ResultLog&) = delete;

  void test_unit_finish(const ut::test_unit& unit, unsigned long) override {
    if (unit.p_type != ut::TUT_CASE || labels_of(unit).empty()) return;
    say(ut::results_collector.results(unit.p_id).passed() ? "passed" : "failed", unit);
  }

  /// A test skipped by a broken fixture gets no end. A test skipped by its own precondition gets the end "skipped".
  void test_unit_skipped(const ut::test_unit& unit, ut::const_string reason) override {
    if (unit.check_preconditions()) return;
    const std::string why = plain(std::string(reason.begin(), reason.end()));
    for_each_labelled_case(unit, [&](const ut::test_unit& test) { say("skipped", test, why); });
  }

  /// Runs before the results collector at starts, and so after it at ends.
  int priority() override { return 1; }

 private:
  void say(const char* what, const ut::test_unit& test, const std::string& why = {}) {
    out_ << what << ' ' << test.full_name() << (why.empty() ? "" : " ") << why << std::endl;
  }

  std::ofstream out_;
};

}  // namespace

BOOST_TEST_GLOBAL_FIXTURE(ResultLog);
