# find_package(troupe): targets troupe::tensor, autograd, optim, messages, actors, node, troupe::troupe for all, and, with none of
# these behind it, troupe::port.
include(CMakeFindDependencyMacro)
list(PREPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
find_dependency(TroupeDependencies MODULE)
list(POP_FRONT CMAKE_MODULE_PATH)
include("${CMAKE_CURRENT_LIST_DIR}/troupeTargets.cmake")
