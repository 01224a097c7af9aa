// A scope that knows the calls made through it.
#pragma once

#include <memory>

#include "actors/scope.h"

namespace troupe {

/// Counts the calls and fetches made through it, and through scopes made from it `with` options; not those that the
/// called functions make. Any thread may call any member.
///
///   WaitAllScope calls(scope);
///   const Future<Tensor> a = calls.rpc_async("ps0", &half, x);
///   const Future<Tensor> b = calls.rpc_async("ps1", &half, x);
///   calls.wait_all();
class WaitAllScope final : public Scope {
 public:
  explicit WaitAllScope(const Scope& scope);

  /// Cancels what is still open, without waiting for it.
  ~WaitAllScope();
  WaitAllScope(const WaitAllScope&) = delete;
  WaitAllScope& operator=(const WaitAllScope&) = delete;

  /// Waits until none is open. Throws RemoteError: the first failure to happen since the last wait. The scope can be used
  /// again.
  void wait_all();
};

}  // namespace troupe
