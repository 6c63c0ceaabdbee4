/* SPDX-License-Identifier: Apache-2.0 */
import uvzk from './index.js'

export const {
  Client, Hold, UvzkConnectionError, UvzkError, UvzkLost, UvzkTimeout, check, connect, create, remove, setData,
} = uvzk
