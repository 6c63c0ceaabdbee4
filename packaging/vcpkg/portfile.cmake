# SPDX-License-Identifier: Apache-2.0
# An overlay port of the tree that it lies in. vcpkg has no ZooKeeper C client: the system's
# libzookeeper_mt is found.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DUVZK_BUILD_TESTS=OFF
    -DUVZK_BUILD_BENCH=OFF
    -DUVZK_BUILD_EXAMPLES=OFF
    -DUVZK_BUILD_SIM=OFF
    -DUVZK_BUILD_COMMAND=OFF
    -DUVZK_PROBES=OFF
    -DUVZK_SASL=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/uvzk)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
