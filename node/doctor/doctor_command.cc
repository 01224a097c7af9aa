#include "node/doctor/doctor_command.h"

#include <fmt/format.h>
#include <string.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "node/doctor/doctor_plan.h"
#include "node/doctor/examination.h"
#include "node/doctor/findings_view.h"
#include "node/launch/subreaper.h"

namespace troupe {

int run_doctor(const DoctorOptions& options) {
  using namespace detail;
  constexpr int kSignalBase = 128;  // exit status, plus the signal's number
  DoctorPlan plan = plan_doctor(doctor_target(options.target, options.variables, options.overrides));
  const Subreaper subreaper;
  try {
    const std::vector<HostFindings> findings =
        Examination(std::move(plan), {options.variables, options.version, options.patience}).run();
    fmt::print("{}", options.json ? json_of(findings) : text_of(findings));
    return count_of(findings, Mark::problem) == 0 ? 0 : 1;
  } catch (const Interrupted& interrupted) {
    fmt::print(stderr, "troupe doctor: ended by SIG{}\n", sigabbrev_np(interrupted.signal()));
    return kSignalBase + interrupted.signal();
  }
}

}  // namespace troupe
