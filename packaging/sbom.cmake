# SPDX-License-Identifier: Apache-2.0
# The SBOM: what each program and library is linked with. packaging/sbom writes it, and says how its lines are read;
# tests/packages/sbom_linked compares it with the files.
set(linked)

# A line for each file of a part that pkg-config knows.
function(sbom_part how name version license)
  foreach(file ${ARGN})
    list(APPEND linked "${how}|${name}|${version}|${license}|${file}")
  endforeach()
  set(linked ${linked} PARENT_SCOPE)
endfunction()

# The same of a part whose target is one of pkg-config's.
macro(sbom_library name prefix license)
  get_target_property(files PkgConfig::${prefix} INTERFACE_LINK_LIBRARIES)
  list(FILTER files INCLUDE REGEX "\\.so") # glibc has archives of nothing, libpthread.a and the like
  sbom_part(DYNAMIC_LINK ${name} ${${prefix}_VERSION} ${license} ${files})
endmacro()

function(file_of_compiler name output)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${name} OUTPUT_STRIP_TRAILING_WHITESPACE
                  OUTPUT_VARIABLE file)
  if(IS_ABSOLUTE "${file}")
    set(${output} ${file} PARENT_SCOPE)
  endif()
endfunction()

file(STRINGS ${UTHASH_INCLUDE_DIR}/uthash.h uthash_version REGEX "^#define UTHASH_VERSION ")
string(REGEX REPLACE ".* " "" uthash_version "${uthash_version}")
if(UVZK_C_CLIENT)
  file(STRINGS ${ZOOKEEPER_INCLUDE_DIR}/zookeeper/zookeeper_version.h zookeeper_version REGEX "^#define ZOO_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" zookeeper_version "${zookeeper_version}")
endif()
file_of_compiler(libc.so.6 libc)
file_of_compiler(libc.a libc_archive)
file_of_compiler(libgcc.a libgcc_archive)

macro(sbom_headers)
  sbom_part(CONTAINS uthash ${uthash_version} BSD-1-Clause ${UTHASH_INCLUDE_DIR}/uthash.h)
endmacro()

macro(sbom_product name purpose)
  list(APPEND linked "product|${name}|${purpose}")
  sbom_headers()
endmacro()

sbom_product(libuvzk.so LIBRARY)
sbom_part(DYNAMIC_LINK glibc "" LGPL-2.1-or-later ${libc})
sbom_library(libuv LIBUV MIT)
sbom_library(c-ares CARES MIT)
if(UVZK_TLS OR UVZK_SASL)
  sbom_library(OpenSSL OPENSSL Apache-2.0)
endif()
if(UVZK_SASL)
  get_target_property(files PkgConfig::KRB5 INTERFACE_LINK_LIBRARIES)
  list(FILTER files INCLUDE REGEX "/lib(gssapi_)?krb5\\.so") # the others are libraries of these two alone
  sbom_part(DYNAMIC_LINK krb5 ${KRB5_krb5_VERSION} MIT ${files})
endif()
if(UVZK_C_CLIENT)
  sbom_part(DYNAMIC_LINK zookeeper-client-c ${zookeeper_version} Apache-2.0 ${ZOOKEEPER_MT_LIBRARY})
endif()

if(UVZK_BUILD_COMMAND)
  sbom_product(uvzk APPLICATION)
  if(UVZK_STATIC_COMMAND)
    sbom_part(STATIC_LINK glibc "" LGPL-2.1-or-later ${libc_archive})
    sbom_part(STATIC_LINK gcc ${CMAKE_C_COMPILER_VERSION} "GPL-3.0-or-later WITH GCC-exception-3.1" ${libgcc_archive})
    sbom_part(STATIC_LINK libuv ${LIBUV_VERSION} MIT ${UVZK_UV_ARCHIVE})
    sbom_part(STATIC_LINK c-ares ${CARES_VERSION} MIT ${UVZK_CARES_ARCHIVE})
    sbom_part(STATIC_LINK jansson ${JANSSON_VERSION} MIT ${UVZK_JANSSON_ARCHIVE})
    if(UVZK_TLS)
      sbom_part(STATIC_LINK OpenSSL ${OPENSSL_VERSION} Apache-2.0 ${UVZK_SSL_ARCHIVE} ${UVZK_CRYPTO_ARCHIVE})
    endif()
  else()
    list(APPEND linked "ours|libuvzk.so")
    sbom_part(DYNAMIC_LINK glibc "" LGPL-2.1-or-later ${libc})
    sbom_library(libuv LIBUV MIT)
    sbom_library(c-ares CARES MIT)
    sbom_library(jansson JANSSON MIT)
    if(UVZK_TLS)
      sbom_library(OpenSSL OPENSSL Apache-2.0)
    endif()
  endif()
endif()

if(TARGET uvzk_sim_server)
  sbom_product(uvzk-sim-server APPLICATION)
  if(UVZK_STATIC_COMMAND)
    sbom_part(STATIC_LINK glibc "" LGPL-2.1-or-later ${libc_archive})
    sbom_part(STATIC_LINK gcc ${CMAKE_C_COMPILER_VERSION} "GPL-3.0-or-later WITH GCC-exception-3.1" ${libgcc_archive})
    sbom_part(STATIC_LINK libuv ${LIBUV_VERSION} MIT ${UVZK_UV_ARCHIVE})
  else()
    sbom_part(DYNAMIC_LINK glibc "" LGPL-2.1-or-later ${libc})
    sbom_library(libuv LIBUV MIT)
  endif()
endif()

list(JOIN linked "\n" linked)
set(linked_list ${CMAKE_CURRENT_BINARY_DIR}/linked.txt)
file(WRITE ${linked_list}.new "${linked}\n")
configure_file(${linked_list}.new ${linked_list} COPYONLY) # which stays as old as it is where nothing has changed
file(STRINGS ${PROJECT_SOURCE_DIR}/include/uvzk.h suffix REGEX "^#define UVZK_VERSION_SUFFIX ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" suffix "${suffix}")
if(suffix)
  string(PREPEND suffix "-")
endif()
set(sbom ${CMAKE_CURRENT_BINARY_DIR}/uvzk.spdx.json)
add_custom_command(OUTPUT ${sbom}
  COMMAND ${PYTHON_RUNTIME} ${CMAKE_CURRENT_SOURCE_DIR}/sbom ${PROJECT_VERSION}${suffix} ${linked_list}
          ${PROJECT_SOURCE_DIR}/debian/changelog ${sbom}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/sbom ${linked_list} ${PROJECT_SOURCE_DIR}/debian/changelog
  COMMENT "SBOM" VERBATIM)
add_custom_target(uvzk_sbom ALL DEPENDS ${sbom})
install(FILES ${sbom} DESTINATION ${CMAKE_INSTALL_DOCDIR})
