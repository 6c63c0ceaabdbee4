# SPDX-License-Identifier: Apache-2.0
# uvzk__curator_program(<target> <source>): a Java program beside Apache Curator, which comes
# from the system's packages. Sets <target>_CLASS_PATH where it is called, empty if javac, or
# an archive, is missing.
function(uvzk__curator_program target source)
  set(${target}_CLASS_PATH "" PARENT_SCOPE)
  find_program(JAVA_COMPILER javac)
  find_program(JAVA_RUNTIME java)
  set(class_path "")
  foreach(archive curator-recipes curator-framework curator-client zookeeper guava slf4j-nop)
    find_file(${archive}_ARCHIVE ${archive}.jar PATHS /usr/share/java)
    if(NOT ${archive}_ARCHIVE OR NOT JAVA_COMPILER OR NOT JAVA_RUNTIME)
      message(STATUS "No javac or no ${archive}.jar: nothing beside Curator in ${CMAKE_CURRENT_SOURCE_DIR}")
      return()
    endif()
    list(APPEND class_path ${${archive}_ARCHIVE})
  endforeach()
  list(JOIN class_path ":" class_path)

  get_filename_component(class ${source} NAME_WE)
  set(classes ${CMAKE_CURRENT_BINARY_DIR}/classes)
  add_custom_command(OUTPUT ${classes}/${class}.class
    COMMAND ${JAVA_COMPILER} -Xlint:all,-path,-classfile -Werror -cp ${class_path} -d ${classes}
            ${CMAKE_CURRENT_SOURCE_DIR}/${source}
    DEPENDS ${source} VERBATIM)
  add_custom_target(${target} DEPENDS ${classes}/${class}.class)
  set(${target}_CLASS_PATH ${class_path}:${classes} PARENT_SCOPE)
endfunction()
