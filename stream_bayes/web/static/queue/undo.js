// @ts-check
// Undo: reopens a request that was answered or skipped.

import { api, requestPath } from "../core/api.js";

/** @param {{place: any, labeller: string, skipped?: boolean}} entry @returns {Promise<any>} */
export async function reopenRequest({ place, labeller, skipped }) {
  if (!skipped) return api.post(requestPath(place, "reopen"), { labeller });
  const lease = await api.post(requestPath(place, "renew"), { labeller });
  const request = await api.get(`api/requests/${place.partition}/${place.offset}`);
  return { ...request, lease_seconds: lease.seconds };
}
