import uvzk from './index.js'

export const {
  Client, Hold, UvzkConnectionError, UvzkError, UvzkLost, UvzkTimeout, check, connect, create, remove, setData,
} = uvzk
